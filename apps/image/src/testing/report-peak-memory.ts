/** Loaded into a process under test: says, when its starter asks, how much memory it has had at most. */
process.on('message', (message) => {
  if (message !== 'peak memory') return;
  process.send?.({ type: 'peak memory', bytes: process.resourceUsage().maxRSS * 1024 });
});
// Waiting for the next question keeps no process from its end.
process.channel?.unref();
