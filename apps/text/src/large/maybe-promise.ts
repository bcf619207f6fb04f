/** What is there at once for ordinary requests, and comes from the thread for large ones. */
export type MaybePromise<Value> = Value | Promise<Value>;

/** Goes on with a value, at once where it is there. */
export const whenDone = <Value, Result>(
  value: MaybePromise<Value>,
  goOn: (value: Value) => MaybePromise<Result>,
): MaybePromise<Result> => (value instanceof Promise ? value.then(goOn) : goOn(value));
