/** Loaded into a process under test with `--expose-gc`: says, when its starter asks, what it still holds after a collection. */
process.on('message', (message) => {
  if (message !== 'live memory') return;
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  process.send?.({ type: 'live memory', bytes: heapUsed + external });
});
// Waiting for the next question keeps no process from its end.
process.channel?.unref();
