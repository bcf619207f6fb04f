import type { ImageEditInput, ImageGenerationInput } from '@gateway/contracts/jobs';
import { requestOfJob, type TextChecks } from '@gateway/hooks/text-checks';
import type { JobContext } from '@gateway/jobs/worker/job-processor';

type Input = ImageGenerationInput | ImageEditInput;
type Checking = Pick<
  JobContext,
  'requestId' | 'keyId' | 'team' | 'subject' | 'signal' | 'consumed' | 'noted'
>;

const PROMPT = 'prompt';

/**
 * A job with the prompt that hooks let pass.
 *
 * @throws {GatewayError} `guardrail_blocked`, `guardrail_unavailable`; no provider was called then
 */
export async function withCheckedPrompt<Job extends Input>(
  checks: TextChecks,
  input: Job,
  context: Checking,
): Promise<Job> {
  const begun = checks.of(requestOfJob(input.model, context));
  const prompt = promptOf(input);
  if (begun === null || prompt === null) return input;
  const own = await begun;
  context.consumed(null);
  const [checked = prompt] = await own.input([prompt]);
  context.consumed(undefined);
  return checked === prompt ? input : withPrompt(input, checked);
}

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
