import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { onTestFinished } from 'vitest';

export const VALID_KEY = 'sk-valid-0123456789';

/** A provider of OpenAI's form with these models, which takes `VALID_KEY`; closed when the test ends. Its address ends in `/v1`. */
export async function startProvider(
  names: readonly string[],
  { answers = {}, needsKey = true }: { answers?: Readonly<Record<string, unknown>>; needsKey?: boolean } = {},
): Promise<{ url: string; asked: { path: string; headers: IncomingHttpHeaders }[] }> {
  const asked: { path: string; headers: IncomingHttpHeaders }[] = [];
  const server = createServer(({ url: path = '', headers }, response) => {
    asked.push({ path, headers });
    const isAllowed = !needsKey || headers.authorization === `Bearer ${VALID_KEY}`;
    const models = { object: 'list', data: names.map((id) => ({ id, object: 'model', owned_by: 'x' })) };
    const answer = Object.hasOwn(answers, path) ? answers[path] : path === '/v1/models' ? models : undefined;
    const refusal = { error: { message: `Incorrect API key provided: ${headers.authorization}.` } };
    response.writeHead(!isAllowed ? 401 : answer === undefined ? 404 : 200);
    response.end(typeof answer === 'string' ? answer : JSON.stringify(isAllowed ? (answer ?? {}) : refusal));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  return { url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}/v1`, asked };
}
