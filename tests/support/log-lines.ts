import { waitFor } from '@gateway/testkit/wait-for';
import type { Gateway } from './start-gateway.ts';

const SERVICES = new Set(['text', 'image', 'audio']);

/** The line that a process writes when a request has ended. In one process the edge's is that of its service as well. */
export async function logLine(
  { lines, mode }: Pick<Gateway, 'lines' | 'mode'>,
  process: string,
  requestId: string,
): Promise<Record<string, unknown>> {
  const writer = mode === 'one' && SERVICES.has(process) ? 'edge' : process;
  const line = await waitFor(
    () => lines.find((each) => each.process === writer && each.text.includes(`"${requestId}"`)),
    { what: `that ${process} logs ${requestId}` },
  );
  return JSON.parse(line.text);
}
