import { GatewayError } from '@gateway/contracts/gateway-error';
import type { TranscriptionInput } from '@gateway/contracts/jobs';
import type { TranscriptFormat } from '@gateway/contracts/openai/transcriptions';
import { type RequestChecks, requestOfJob, type TextChecks } from '@gateway/hooks/text-checks';
import type { JobContext } from '@gateway/jobs/worker/job-processor';
import type { WholeTranscript } from './transcript/request-transcript.ts';

/** Those that show the text alone. The others have it in pieces, with times, and there is no telling which piece was replaced. */
const REPLACEABLE: ReadonlySet<TranscriptFormat> = new Set(['json', 'text']);

/** What hooks let pass of what is sent beside a recording. */
export interface CheckedRecording {
  readonly checked: TranscriptionInput;
  /** Null: no hook checks it. */
  readonly checks: RequestChecks | null;
}

const PROMPT = 'prompt';

/** @throws {GatewayError} `guardrail_blocked`, `guardrail_unavailable`; no provider was called then */
export async function checkedRecording(
  textChecks: TextChecks,
  input: TranscriptionInput,
  context: Pick<JobContext, 'requestId' | 'keyId' | 'team' | 'subject' | 'signal' | 'consumed' | 'noted'>,
): Promise<CheckedRecording> {
  const checks = (await textChecks.of(requestOfJob(input.model, context))) ?? null;
  const prompts = input.fields.flatMap(([name, text]) => (name === PROMPT && text !== '' ? [text] : []));
  if (checks === null || prompts.length === 0) return { checked: input, checks };
  context.consumed(null);
  const passed = [...(await checks.input(prompts))];
  context.consumed(undefined);
  if (passed.every((text, index) => text === prompts[index])) return { checked: input, checks };
  const fields = input.fields.map(([name, text]): [string, string] => [
    name,
    name === PROMPT && text !== '' ? (passed.shift() ?? '') : text,
  ]);
  return { checked: { ...input, fields }, checks };
}

/**
 * A transcript as hooks let it pass.
 *
 * @throws {GatewayError} `guardrail_blocked`, `guardrail_unavailable`: it was made and is charged
 */
export async function checkedTranscript(
  checks: RequestChecks,
  received: WholeTranscript,
  wanted: TranscriptFormat,
): Promise<WholeTranscript> {
  const { text, usage } = received.transcript;
  if (text === '') return received;
  const [checked = text] = await checks.output([text]);
  if (checked === text) return received;
  if (!REPLACEABLE.has(wanted))
    throw new GatewayError(
      'guardrail_blocked',
      `A check replaces words of the transcript, which cannot be done in the format '${wanted}'. Use 'json' or 'text'.`,
    );
  return { ...received, formats: [], transcript: { text: checked, usage } };
}
