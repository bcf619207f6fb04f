import { GatewayError } from '@gateway/contracts/gateway-error';
import type { TranscriptFormat } from '@gateway/contracts/openai/transcriptions';
import type { RequestChecks } from '@gateway/hooks/text-checks';
import type { WholeTranscript } from './transcript/request-transcript.ts';

/** Those that show the text alone. The others have it in pieces, with times, and there is no telling which piece was replaced. */
const REPLACEABLE: ReadonlySet<TranscriptFormat> = new Set(['json', 'text']);

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
