export const PROTOCOLS = ['responses', 'messages', 'chat'] as const;
export type Protocol = (typeof PROTOCOLS)[number];

export const PATHS: Readonly<Record<Protocol, string>> = {
  responses: '/v1/responses',
  messages: '/v1/messages',
  chat: '/v1/chat/completions',
};

/** A channel for each protocol at one provider, each with a model that every agent may use. */
export const configuration = (origin: string): string => `
channels:
${PROTOCOLS.map((protocol) => `  ${protocol}: { provider: simulator, baseUrl: "${origin}", speaks: [${protocol}] }`).join('\n')}
models:
${PROTOCOLS.map(
  (protocol) => `  agent-over-${protocol}:
    kind: text
    routes: [{ channel: ${protocol} }]
    builtInTools: []
    dropUnavailableTools: true`,
).join('\n')}
`;
