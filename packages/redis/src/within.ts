/** The promise's value, or another one where it takes longer. What it rejects with afterwards is passed over. */
export function within<Value, Late>(
  limitMs: number,
  promise: Promise<Value>,
  late: () => Late,
): Promise<Value | Late> {
  let timer: NodeJS.Timeout | undefined;
  const timedOut = new Promise<Late>((resolve) => {
    timer = setTimeout(() => resolve(late()), limitMs);
  });
  return Promise.race([promise, timedOut]).finally(() => clearTimeout(timer));
}
