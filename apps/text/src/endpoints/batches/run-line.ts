import { GatewayError } from '@gateway/contracts/gateway-error';
import { type TextLineInput, TextLineOutput } from '@gateway/contracts/jobs';
import { ConsumedUsage } from '@gateway/contracts/usage/usage-record';
import { type JobFiles, readOutput } from '@gateway/jobs/files/job-files';
import type { JobContext, JobProcessor } from '@gateway/jobs/worker/job-processor';
import { giveBack } from '../../call/accounting/give-back.ts';
import { resultOf } from '../../call/accounting/metered-call.ts';
import { withContent } from '../../call/content/call-content.ts';
import { candidatesFor, holdCall } from '../../call/open-call.ts';
import type { HeldCall, TextServices } from '../../call/request/text-call.ts';
import { answerCall } from '../answer-call.ts';
import { openQueuedCall } from '../background/job-call.ts';
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
  context: Pick<JobContext, 'jobId' | 'requestId' | 'trace' | 'signal' | 'consumed'>,
): Promise<TextLineOutput> {
  const { jobId, requestId, trace, signal, consumed } = context;
  const endpoint = LINE_ENDPOINTS.get(url);
  if (endpoint === undefined) throw new Error(`no endpoint ${url}`);
  const caller = new LineCaller(headers, url);
  const leave = () => caller.leave();
  signal.addEventListener('abort', leave, { once: true });
  let held: HeldCall | null = null;
  consumed(null);
  try {
    const bytes = Buffer.from(body);
    const options = { services, caller, requestId, trace };
    const opened = await openQueuedCall({ endpoint, identity, bytes }, options);
    held = await holdCall(withContent(opened, jobId), 'generating');
    const candidates = candidatesFor(held);
    signal.throwIfAborted();
    consumed(undefined);
    const { call, outcome } = await answerCall(
      { ...held, reservation: null },
      { candidates, holdsStart: true },
    );
    outcome.end();
    const usage = resultOf(call, outcome);
    consumed(usage);
    call.content?.end(outcome);
    if (outcome.thrown !== undefined) throw outcome.thrown;
    if (!caller.hasEnded) throw call.context.failure ?? withoutEnd();
    const { status, body: answered } = caller;
    return { status, body: answered, usage: ConsumedUsage.parse(usage) };
  } finally {
    signal.removeEventListener('abort', leave);
    leave();
    if (held !== null) await giveBack(held);
  }
}

const withoutEnd = (): GatewayError =>
  new GatewayError('outcome_unknown', {
    message: 'The answer was cut off. It was not repeated, because it may have been billed.',
    retry: false,
  });
