/** The others concern the caller's connection, or are the edge's. */
const STORED_HEADERS =
  /^(?:accept-language|anthropic-(?:beta|version)|content-type|conversation_id|originator|session[-_]id|trace(?:parent|state)|user-agent|version|x-client-request-id|x-gateway-(?:strict|content-log|user|session|label)|(?:x-)?openai-[a-z0-9-]+|x-codex-[a-z0-9-]+)$/;

/** Those of a request's headers that go on with its job. */
export const storedHeaders = (
  headers: Readonly<Record<string, string | string[] | undefined>>,
): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      typeof value === 'string' && STORED_HEADERS.test(name) ? [[name, value]] : [],
    ),
  );
