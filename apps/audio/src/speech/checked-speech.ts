import type { SpeechRequest } from '@gateway/contracts/openai/speech';
import type { RequestChecks, TextChecks, TextRequest } from '@gateway/hooks/text-checks';

type Spoken = Pick<SpeechRequest, 'input' | 'instructions'>;

/** What hooks let pass of what is to be spoken. */
interface CheckedSpeech<Speech> {
  /** The request itself where nothing was replaced. */
  readonly speech: Speech;
  /** Null: no hook checks it. */
  readonly checks: RequestChecks | null;
}

/** @throws {GatewayError} `guardrail_blocked`, `guardrail_unavailable`; no provider was called then */
export async function checkedSpeech<Speech extends Spoken>(
  textChecks: TextChecks,
  speech: Speech,
  request: TextRequest,
): Promise<CheckedSpeech<Speech>> {
  const checks = (await textChecks.of(request)) ?? null;
  if (checks === null) return { speech, checks };
  const { input, instructions } = speech;
  const hasInstructions = typeof instructions === 'string' && instructions !== '';
  const texts = hasInstructions ? [input, instructions] : [input];
  const [spoken = input, told = instructions] = await checks.input(texts);
  return {
    speech:
      spoken === input && told === instructions ? speech : { ...speech, input: spoken, instructions: told },
    checks,
  };
}
