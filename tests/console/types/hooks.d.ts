export function useEffect(run: () => void | (() => void), uses?: unknown[]): void;
export function useLayoutEffect(run: () => void | (() => void), uses?: unknown[]): void;
export function useMemo<T>(make: () => T, uses: unknown[]): T;
export function useRef<T>(first: T): { current: T };
export function useState<T>(first: T): [T, (next: T | ((old: T) => T)) => void];
