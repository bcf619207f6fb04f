/** Loaded into a process under test with `--expose-gc`: reports what it still holds after a collection when its starter requests it. */
process.on('message', (message) => {
  if (message !== 'live memory') return;
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  process.send?.({ type: 'live memory', bytes: heapUsed + external });
});
// Waiting for the next question keeps no process from its end.
process.channel?.unref();
