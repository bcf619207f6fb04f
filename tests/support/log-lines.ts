import { waitFor } from '@gateway/testkit/wait-for';
import type { Gateway } from './start-gateway.ts';

/** The line that a process writes when a request has ended. */
export async function logLine(
  { lines }: Pick<Gateway, 'lines'>,
  process: string,
  requestId: string,
): Promise<Record<string, unknown>> {
  const line = await waitFor(
    () => lines.find((each) => each.process === process && each.text.includes(`"${requestId}"`)),
    { what: `that ${process} logs ${requestId}` },
  );
  return JSON.parse(line.text);
}
