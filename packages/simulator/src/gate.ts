/** A door that a test opens: what waits for `opened` goes on when `open` is called, not when time has passed. */
export interface Gate {
  readonly opened: Promise<void>;
  open(): void;
}

export const createGate = (): Gate => {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { opened: promise, open: resolve };
};
