export function signal<T>(first: T): { value: T };
export function computed<T>(make: () => T): { readonly value: T };
export function effect(run: () => void): () => void;
export function batch<T>(run: () => T): T;
export function useSignal<T>(first: T): { value: T };
export function useComputed<T>(make: () => T): { readonly value: T };
