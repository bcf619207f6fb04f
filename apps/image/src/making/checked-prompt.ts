import type { ImageEditInput, ImageGenerationInput } from '@gateway/contracts/jobs';
import type { TextChecks } from '@gateway/hooks/text-checks';
import type { JobContext } from '@gateway/jobs/worker/job-processor';

type Input = ImageGenerationInput | ImageEditInput;
type Checking = Pick<JobContext, 'requestId' | 'keyId' | 'team' | 'signal' | 'consumed'>;

const PROMPT = 'prompt';

/**
 * A job with the prompt that hooks let pass, and its context, which says what they did.
 *
 * @throws {GatewayError} `guardrail_blocked`, `guardrail_unavailable`; no provider was called then
 */
export async function withCheckedPrompt<Job extends Input, Context extends Checking>(
  checks: TextChecks,
  input: Job,
  context: Context,
): Promise<{ readonly input: Job; readonly context: Context }> {
  const begun = checks.of({ ...pick(context), model: input.model });
  const prompt = promptOf(input);
  if (begun === null || prompt === null) return { input, context };
  const own = await begun;
  context.consumed(null);
  const [checked = prompt] = await own.input([prompt]);
  context.consumed(undefined);
  const consumed: Context['consumed'] = (usage) =>
    context.consumed(usage && { ...usage, detail: { ...usage.detail, hooks: own.note } });
  return {
    input: checked === prompt ? input : withPrompt(input, checked),
    context: { ...context, consumed },
  };
}

const pick = ({ requestId, keyId, team, signal }: Checking) => ({ requestId, keyId, team, signal });

function promptOf(input: Input): string | null {
  const prompt =
    'fields' in input ? input.fields.find(([name]) => name === PROMPT)?.[1] : input.parameters[PROMPT];
  return typeof prompt === 'string' && prompt !== '' ? prompt : null;
}

const withPrompt = <Job extends Input>(input: Job, prompt: string): Job =>
  'fields' in input
    ? {
        ...input,
        fields: input.fields.map(([name, value]) => [name, name === PROMPT ? prompt : value]),
      }
    : { ...input, parameters: { ...input.parameters, prompt } };
