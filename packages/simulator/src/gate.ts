/** A gate that a test opens: waiters for `opened` continue when `open` is called, not after a time. */
export interface Gate {
  readonly opened: Promise<void>;
  open(): void;
}

export const createGate = (): Gate => {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { opened: promise, open: resolve };
};
