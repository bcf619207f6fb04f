/** Loaded into a process under test: reports its peak memory when its starter requests it. */
process.on('message', (message) => {
  if (message !== 'peak memory') return;
  process.send?.({ type: 'peak memory', bytes: process.resourceUsage().maxRSS * 1024 });
});
// Waiting for the next question keeps no process from its end.
process.channel?.unref();
