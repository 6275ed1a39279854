// Starts the console's front end.
import { html, render } from "./html.js";
import { App } from "./app.js";

const place = document.getElementById("app");
if (place) render(html`<${App} />`, place);
