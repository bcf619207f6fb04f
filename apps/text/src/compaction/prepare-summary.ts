import { GatewayError } from '@gateway/contracts/gateway-error';
import type { Candidate } from '@gateway/upstream/candidate';
import type { Reply } from '@gateway/upstream/replies/reply';
import { logConsumed } from '../call/accounting/call-log.ts';
import {
  type Consumed,
  consumedOf,
  failedWith,
  NOTHING_KNOWN,
  type ReplyOutcome,
} from '../call/accounting/outcome.ts';
import { type PreparedAttempt, unlessRefusedLater } from '../call/attempts/prepared-attempt.ts';
import { conversationProtocolOf, targetOf } from '../call/candidates/target-of.ts';
import { type CompactionOrder, MAX_SUMMARY_TOKENS } from '../call/request/requested-compaction.ts';
import type { TextCall } from '../call/request/text-call.ts';
import { type MaybePromise, whenDone } from '../large/maybe-promise.ts';
import { estimatedTokens, knownUsage } from '../metering/consumption.ts';
import type { Finish } from '../neutral/reply/reply.ts';
import { SCALAR_PATHS } from '../neutral/scalar-paths.ts';
import type { AnswerPlan } from '../neutral/target.ts';
import { translatedHeaders } from '../translation/headers.ts';
import { readAnswer } from '../translation/relay-answer.ts';
import { isObject, objectOf, textAt } from '../wire/json-object.ts';
import type { Compactable } from './compactable.ts';
import { TRANSCRIPT_BOUNDS } from './summary-request.ts';

/** A summary that a model has written. */
export interface Summary {
  readonly text: string;
  /** Of the request for it. */
  readonly plan: AnswerPlan;
  readonly reply: Reply;
  readonly consumed: Consumed;
}

/** What writes a summary to its caller, and when that began. */
export type WrittenSummary = Pick<ReplyOutcome, 'firstByteMs' | 'end'>;

interface SummaryAttempt {
  readonly conversation: Compactable;
  readonly order: CompactionOrder;
  /** Gets the summary. Resolves to what the caller gets of it. */
  readonly onSummary: (summary: Summary) => Promise<WrittenSummary>;
}

/**
 * Prepares the request for a conversation's summary. A candidate that finds it too long gets it again with less of what
 * tools returned.
 */
export const prepareSummary = (
  call: TextCall,
  candidate: Candidate,
  attempt: SummaryAttempt,
  level = 0,
): MaybePromise<PreparedAttempt | GatewayError> =>
  unlessRefusedLater(() => {
    const { model, request } = call;
    const wanted = {
      model: request.model,
      instructions: attempt.order.instructions,
      maxOutputTokens: Math.min(MAX_SUMMARY_TOKENS, model.maxOutputTokens ?? MAX_SUMMARY_TOKENS),
      level,
      target: targetOf(candidate, model),
    };
    return whenDone(attempt.conversation.summaryRequest(wanted), ({ body, plan }) => ({
      request: {
        operation: conversationProtocolOf(candidate),
        method: 'POST',
        headers: translatedHeaders(call.caller.headers, true),
        translated: true,
        streamed: true,
        body,
      },
      retry: (refusal) =>
        isTooLong(refusal) && level + 1 < TRANSCRIPT_BOUNDS.length
          ? prepareSummary(call, candidate, attempt, level + 1)
          : null,
      explain: (refusal) => (isTooLong(refusal) ? tooLong(call) : withoutPath(refusal)),
      receive: async (reply) => {
        call.context.line.upstreamProtocol = plan.target.protocol;
        let part: Consumed = NOTHING_KNOWN;
        const onConsumed = (consumed: Consumed) => {
          part = consumed;
        };
        try {
          const answer = await readAnswer({ call, reply, plan, goOn: neverPauses }, onConsumed);
          const text = summaryIn(answer.body);
          const estimates = {
            inputTokens: estimatedTokens(body.length),
            outputLength: () => text.length,
          };
          const consumed = consumedOf(knownUsage(answer.usage, true, estimates));
          logConsumed(call, reply, consumed);
          const outcome = await taken({ text, plan, reply, consumed }, answer.finish, attempt);
          logCompaction(call, attempt.order, outcome.thrown === undefined ? 'ok' : 'failed');
          return outcome;
        } catch (error) {
          return { ...failedWith(error), ...part };
        }
      },
    }));
  });

const neverPauses = () => Promise.reject(new Error('a summary that pauses'));

async function taken(
  summary: Summary,
  { reason }: Finish,
  { onSummary }: SummaryAttempt,
): Promise<ReplyOutcome> {
  const problem = summary.text.trim() === '' ? 'empty' : PROBLEMS[reason];
  if (problem !== undefined) return { ...failedWith(noSummary(problem)), ...summary.consumed };
  return onSummary(summary).then(
    (written) => ({ ...summary.consumed, ...written, thrown: undefined }),
    (thrown: unknown) => ({ ...failedWith(thrown), ...summary.consumed }),
  );
}

/** Of the gateway's own. */
function logCompaction(
  { context, services }: TextCall,
  { by }: CompactionOrder,
  result: 'ok' | 'failed',
): void {
  Object.assign(context.line, { compaction: by, compactedBy: 'gateway' });
  services.metrics.compacted(by, 'gateway', result);
}

/** Ends of an answer that leave no whole summary. */
const PROBLEMS: Partial<Record<Finish['reason'], string>> = {
  length: 'cut off',
  'context-length': 'cut off',
  refusal: 'refused',
  'tool-calls': 'empty',
};

/** The text of a response. */
function summaryIn(response: object): string {
  const { output } = objectOf(response);
  const texts = (Array.isArray(output) ? output : [])
    .filter((item) => isObject(item) && item.type === 'message')
    .flatMap((item) => (Array.isArray(item.content) ? item.content : []))
    .map((part) => textAt(objectOf(part), 'text') ?? '');
  return texts.join('\n').trim();
}

const isTooLong = (refusal: unknown): boolean =>
  refusal instanceof GatewayError && refusal.code === 'context_length_exceeded';

const tooLong = ({ endpoint, model }: TextCall): GatewayError =>
  new GatewayError('context_length_exceeded', {
    path: [...SCALAR_PATHS[endpoint.protocol].turns],
    source: 'upstream',
    message: `The conversation is too long to be compacted by model '${model.name}', even without most of what tools returned. Send fewer messages, or use a model with a larger context.`,
  });

/** The caller did not write the request for the summary. */
function withoutPath(refusal: GatewayError): GatewayError {
  const { path: _, ...options } = refusal.options;
  return new GatewayError(refusal.code, options);
}

const noSummary = (problem: string): GatewayError =>
  new GatewayError('compaction_unavailable', {
    source: 'upstream',
    message: `The conversation could not be compacted: the model's summary was ${problem}. Try again, or use another model.`,
  });
