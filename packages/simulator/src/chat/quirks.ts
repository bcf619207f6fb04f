/** Deviations of third-party servers that an adapter must survive, each with its name. */
export const CHAT_QUIRKS = [
  'usage-with-finish',
  'usage-every-chunk',
  'no-usage',
  'no-done',
  'no-index',
  'finish-stop',
  'whole-call',
  'repeated-id',
  'arguments-object',
  'reasoning-content',
  'reasoning',
  'think-tags',
  'thinking-parts',
  'error-200',
  'keep-alive-chunks',
  'comments',
  'null-content',
] as const;

export type ChatQuirk = (typeof CHAT_QUIRKS)[number];
export type HasQuirk = (quirk: ChatQuirk) => boolean;

export const quirksOf = (names: readonly string[] = []): HasQuirk => {
  const quirks = new Set(names);
  return (quirk) => quirks.has(quirk);
};
