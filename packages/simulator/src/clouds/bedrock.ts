import { asObject } from '../json-value.ts';
import type { Reply } from '../replies/reply.ts';
import type { RecordedRequest } from '../requests/recorded-request.ts';
import { type AwsGate, refusedByAws } from './aws-gate.ts';
import { type Admitted, behindGate, type Cloud, refusal, refusedByModel } from './cloud.ts';
import { type RefusedParts, refusedPart } from './refused-parts.ts';

const MESSAGES = '/anthropic/v1/messages';
const COUNT = `${MESSAGES}/count_tokens`;
const OPENAI = '/openai/v1/';
/** Converse, the counting of tokens and guardrails, whose own rules hold behind the gate. */
const OF_THE_RUNTIME = ['/model/', '/guardrail/'];

/** What Claude refuses on every path of the runtime, as observed on its own Messages path. */
export const REFUSED_AT_BEDROCK: RefusedParts = {
  betas: ['prompt-caching-scope-2026-01-05'],
  members: [
    'output_config.format',
    'output_format',
    'tools.*.strict',
    'inference_geo',
    'fallbacks',
    'container',
    'mcp_servers',
    'cache_control.scope',
    'system.*.cache_control.scope',
    'tools.*.cache_control.scope',
    'messages.*.content.*.cache_control.scope',
    'thinking.block_binding.prefix_mismatch_behavior',
  ],
  tools: ['web_search', 'web_fetch', 'code_execution', 'mcp_toolset'],
};
const USER_ID = /^[\w.@ -]*$/;
/** On-demand use of newer models is by inference profiles only. */
const PROFILE = /^(?:us|eu|apac|jp|au|in|us-gov|global)\./;

export interface BedrockOptions extends AwsGate {
  /** `runtime` wants inference profiles, `mantle` ids without a geography. */
  readonly endpoint: 'runtime' | 'mantle';
}

/** AWS Bedrock's native paths. */
export const bedrock = (options: BedrockOptions): Cloud => ({
  admit: (request) => refusedByAws(request, options) ?? admitted(request, options),
});

function admitted(request: RecordedRequest, { endpoint }: BedrockOptions): Admitted | Reply {
  const { path, headers, body } = request;
  if (endpoint === 'runtime' && OF_THE_RUNTIME.some((begin) => path.startsWith(begin)))
    return { path, headers: behindGate(headers), body };
  if (path.startsWith(OPENAI)) return openai(request);
  if (path !== MESSAGES && path !== COUNT) return unknownOperation();
  // An error under the status of an answer.
  if (path === COUNT && endpoint === 'runtime')
    return refusal(200, {
      Output: { __type: 'com.amazon.coral.service#UnknownOperationException' },
      Version: '1.0',
    });
  const parsed = asObject(request.json());
  const model = String(parsed.model);
  if (endpoint === 'runtime' && !PROFILE.test(model))
    return refusal(
      400,
      {
        message: `Invocation of model ID ${model} with on-demand throughput isn’t supported. Retry your request with the ID or ARN of an inference profile that contains this model.`,
      },
      { 'x-amzn-errortype': 'ValidationException' },
    );
  if (endpoint === 'mantle' && PROFILE.test(model))
    return refusal(404, { type: 'error', error: { type: 'not_found_error', message: `model: ${model}` } });
  const { user_id: userId } = asObject(parsed.metadata);
  if (userId !== undefined && !USER_ID.test(String(userId)))
    return refusedByModel('Request metadata contains a value that violates the regular expression');
  return (
    refusedPart(request, parsed, REFUSED_AT_BEDROCK) ?? {
      path: path.slice('/anthropic'.length),
      headers: behindGate(headers),
      body,
    }
  );
}

function openai(request: RecordedRequest): Admitted | Reply {
  const { tools } = asObject(request.json());
  const search = Array.isArray(tools)
    ? tools.find((tool) => String(asObject(tool).type).startsWith('web_search'))
    : undefined;
  if (search !== undefined)
    return refusal(400, {
      error: {
        message: 'Tool type web_search is not supported.',
        type: 'invalid_request_error',
        code: 'validation_error',
      },
    });
  return { path: request.path, headers: behindGate(request.headers), body: request.body };
}

const unknownOperation = (): Reply =>
  refusal(404, { message: 'UnknownOperationException' }, { 'x-amzn-errortype': 'UnknownOperationException' });
