// The one place that joins Preact, htm and signals. Pages import from here only.
// Values that come into a template become text nodes or properties; no part of the console parses strings as HTML.
import { Component, Fragment, h, render } from "../vendor/preact.js";
import { useEffect, useRef, useState, useMemo, useLayoutEffect } from "../vendor/hooks.js";
import { signal, computed, effect, batch, useSignal, useComputed } from "../vendor/signals.js";
import htm from "../vendor/htm.js";

export const html = htm.bind(h);
export {
  Component, Fragment, render, useEffect, useLayoutEffect, useMemo, useRef, useState,
  batch, computed, effect, signal, useComputed, useSignal,
};
