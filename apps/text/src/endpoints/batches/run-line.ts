import { GatewayError } from '@gateway/contracts/gateway-error';
import { type TextLineInput, TextLineOutput } from '@gateway/contracts/jobs';
import { type JobFiles, readOutput } from '@gateway/jobs/files/job-files';
import type { JobContext, JobProcessor } from '@gateway/jobs/worker/job-processor';
import type { TextServices } from '../../call/request/text-call.ts';
import { LineCaller } from './line-caller.ts';
import { LINE_ENDPOINTS, type TextLine } from './text-lines.ts';

interface WorkerAccess {
  readonly services: TextServices;
  readonly assets: JobFiles['assets'];
}

/**
 * How a line of a batch is done: as for a caller who waits. A provider is called for it once; where its worker dies after that, nobody
 * knows what it has cost, and the line fails.
 */
export const runLine = ({ services, assets }: WorkerAccess): JobProcessor<TextLine> => ({
  run: (input, context) => answerLine(services, input, context),
  recover: async (_input, { jobId, consumed }) => {
    const stored = await readOutput({ assets }, jobId);
    if (stored === undefined) return undefined;
    const output = TextLineOutput.parse(stored);
    consumed(output.usage);
    return output;
  },
});

/** Has the endpoint of a line answer it. @throws what its caller gets in place of an answer */
export async function answerLine(
  services: TextServices,
  { url, body, headers, identity }: TextLineInput,
  context: Pick<JobContext, 'jobId' | 'requestId' | 'trace' | 'signal' | 'consumed' | 'isTriedAgain'>,
): Promise<TextLineOutput> {
  const { requestId, trace, signal, consumed } = context;
  const endpoint = LINE_ENDPOINTS.get(url);
  if (endpoint === undefined) throw new Error(`no endpoint ${url}`);
  const caller = new LineCaller(headers, url);
  const leave = () => caller.leave();
  signal.addEventListener('abort', leave, { once: true });
  consumed(null);
  try {
    const request = { services, caller, identity, bytes: Buffer.from(body), requestId, trace };
    const usage = await endpoint.answer(request, context);
    if (!caller.hasEnded) throw withoutEnd();
    return { status: caller.status, body: caller.body, usage };
  } finally {
    signal.removeEventListener('abort', leave);
    leave();
  }
}

const withoutEnd = (): GatewayError =>
  new GatewayError('outcome_unknown', {
    message: 'The answer was cut off. It was not repeated, because it may have been billed.',
    retry: false,
  });
