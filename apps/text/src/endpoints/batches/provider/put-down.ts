import type { ErrorCode } from '@gateway/contracts/error-codes';
import { GatewayError } from '@gateway/contracts/gateway-error';
import type { ConsumedUsage } from '@gateway/contracts/usage/usage-record';
import { JOBS } from '@gateway/jobs/catalog';
import { settlementOf } from '@gateway/jobs/job-metering';
import { toGatewayError } from '@gateway/service-kit/error-response';
import { answeredUpstream, type GivenAnswer } from '@gateway/upstream/batches/answered-upstream';
import type { TextBatchService } from '../batch-service.ts';
import { answerLine } from '../run-line.ts';
import type { BilledLine, LinePlace } from './provider-line.ts';

type Keeping = Pick<TextBatchService, 'queue' | 'meter' | 'now'>;

/** What a line may be done again after: its provider has not begun it, and bills nothing. */
const NOT_BEGUN: ReadonlySet<ErrorCode> = JOBS['text.line'].retry.notBegun;

/**
 * Puts down what the provider has answered to a line as its outcome, as if a worker had asked for it, and bills it once. Doing it twice
 * changes nothing. False: it was not answered, and nothing is put down.
 */
export async function putDown(
  { queue, meter, now }: Keeping,
  { services, note, context }: LinePlace,
  line: BilledLine,
  answer: GivenAnswer,
): Promise<boolean> {
  const { id, input, subject, estimate } = line;
  const { keyId, model } = subject;
  const { requestId, signal } = context;
  const answered = { ...services, upstream: answeredUpstream(services.upstream, note, answer) };
  let used: ConsumedUsage | null | undefined;
  const consumed = (usage: ConsumedUsage | null | undefined) => {
    used = usage;
  };
  const isTriedAgain = (thrown: unknown) => isLeft(toGatewayError(thrown));
  const asked = { jobId: id, requestId, signal, consumed, isTriedAgain };
  const outcome = await answerLine(answered, input, asked).catch((thrown: unknown) => toGatewayError(thrown));
  signal.throwIfAborted();
  const error = outcome instanceof GatewayError ? outcome : undefined;
  if (error?.code === 'service_unavailable') throw error;
  // It has been answered and paid for, and nothing is configured any more that could read the answer.
  if (error?.code === 'no_available_channel' && isGood(answer))
    return putDownUnknown({ queue, meter, now }, { note }, line);
  if (error !== undefined && isLeft(error)) return false;
  const metering = { subject, estimate };
  const ending = { metering, hasRun: true, consumed: used, error, nowMs: now() };
  await meter.settleOnce(subject, settlementOf(ending));
  if (outcome instanceof GatewayError)
    await queue.keepRefused({ id, kind: 'text.line', keyId, model }, outcome);
  else await queue.keepDone({ id, kind: 'text.line', keyId, model }, outcome);
  return true;
}

/** Whether the gateway does it itself. */
const isLeft = (error: GatewayError): boolean => error.retry && NOT_BEGUN.has(error.code);

/** Whether the provider bills it. */
export const isGood = ({ status }: GivenAnswer): boolean => status >= 200 && status <= 299;

/** The same for a line that the provider may have done, and of which nothing came. */
export async function putDownUnknown(
  { queue, meter, now }: Keeping,
  { note }: Pick<LinePlace, 'note'>,
  { id, subject, estimate }: BilledLine,
): Promise<true> {
  const error = new GatewayError('outcome_unknown', {
    message:
      'The provider got this request and did not tell what became of it. It was not repeated, because it may have been billed.',
    retry: false,
  });
  const metering = { subject, estimate: { ...estimate, channel: note.channel, attempts: 1 } };
  const ending = { metering, hasRun: true, consumed: undefined, error, nowMs: now() };
  await meter.settleOnce(subject, settlementOf(ending));
  const { keyId, model } = subject;
  await queue.keepRefused({ id, kind: 'text.line', keyId, model }, error);
  return true;
}
