import { GatewayError } from '@gateway/contracts/gateway-error';
import type { ConsumedUsage } from '@gateway/contracts/usage/usage-record';
import { NOT_BEGUN } from '@gateway/jobs/catalog';
import { toGatewayError } from '@gateway/service-kit/error-response';
import { answeredUpstream, type GivenAnswer } from '@gateway/upstream/batches/answered-upstream';
import type { LineEnding } from '../../../batches/journal-entries.ts';
import { answerLine } from '../answer-line.ts';
import type { TextBatches } from '../batch-service.ts';
import { endLine, settlementFor } from '../end-line.ts';
import type { BilledLine, LinePlace } from './provider-line.ts';

type Keeping = Pick<TextBatches, 'meter' | 'now' | 'onError'>;

/**
 * Puts down what the provider has answered to a line as its outcome, as if a worker had asked for it, and bills it once. Doing it twice
 * changes nothing. False: it was not answered, and nothing is put down.
 */
export async function putDown(
  keeping: Keeping,
  { services, note, context, journal }: LinePlace,
  line: BilledLine,
  answer: GivenAnswer,
): Promise<boolean> {
  const { id, index, input, subject, estimate } = line;
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
    return putDownUnknown(keeping, { note, journal }, line);
  if (error !== undefined && isLeft(error)) return false;
  const metering = { subject, estimate };
  const about = { metering, hasRun: true, consumed: used, error, nowMs: keeping.now() };
  const settlement = settlementFor(keeping, about);
  const ending: LineEnding =
    outcome instanceof GatewayError
      ? { type: 'errored', error: outcome }
      : { type: 'succeeded', answer: outcome };
  await endLine(keeping, journal, index, { ending, settlement });
  return true;
}

/** Whether the gateway does it itself. */
const isLeft = (error: GatewayError): boolean => error.retry && NOT_BEGUN.has(error.code);

/** Whether the provider bills it. */
export const isGood = ({ status }: GivenAnswer): boolean => status >= 200 && status <= 299;

/** The same for a line that the provider may have done, and of which nothing came. */
export async function putDownUnknown(
  keeping: Keeping,
  { note, journal }: Pick<LinePlace, 'note' | 'journal'>,
  { index, subject, estimate }: BilledLine,
): Promise<true> {
  const error = new GatewayError('outcome_unknown', {
    message:
      'The provider got this request and did not tell what became of it. It was not repeated, because it may have been billed.',
    retry: false,
  });
  const metering = { subject, estimate: { ...estimate, channel: note.channel, attempts: 1 } };
  const about = { metering, hasRun: true, consumed: undefined, error, nowMs: keeping.now() };
  const settlement = settlementFor(keeping, about);
  await endLine(keeping, journal, index, { ending: { type: 'errored', error }, settlement });
  return true;
}
