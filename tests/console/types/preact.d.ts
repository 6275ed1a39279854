export const Fragment: any; export const h: any; export function render(view: any, place: Element): void;
export class Component { state: any; props: any; constructor(); }
