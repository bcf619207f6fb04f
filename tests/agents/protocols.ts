/** The upstream protocols that an agent's task is done over. */
export const PROTOCOLS = ['responses', 'messages', 'chat', 'gemini', 'converse'] as const;
export type Protocol = (typeof PROTOCOLS)[number];
