import { z } from 'zod';
import { HookFailure, PASSED } from '../check.ts';
import type { HookAdapter } from './kinds.ts';
import { readAnswer } from './read-answer.ts';

const Answer = z.object({
  action: z.enum(['NONE', 'BLOCKED', 'GUARDRAIL_INTERVENED']),
  blocked_reason: z.string().nullish(),
  texts: z.array(z.string()).nullish(),
  images: z.array(z.unknown()).nullish(),
});

/**
 * LiteLLM's generic guardrail API.
 *
 * @see https://docs.litellm.ai/docs/adding_provider/generic_guardrail_api
 */
export const generic: HookAdapter = {
  request: ({ side, texts, roles, surroundings }, request, { params, include }) => ({
    input_type: side === 'input' ? 'request' : 'response',
    texts,
    structured_messages: texts.map((content, index) => ({ role: roles[index] ?? 'user', content })),
    ...(surroundings && include.includes('images') && { images: surroundings.images }),
    ...(surroundings &&
      include.includes('tools') && { tools: surroundings.tools, tool_calls: surroundings.toolCalls }),
    model: request.model,
    litellm_call_id: request.requestId,
    litellm_trace_id: request.requestId,
    // Of a key the gateway shows its id, which is no secret and no hash of one.
    request_data: {
      user_api_key_hash: request.keyId,
      user_api_key_alias: request.keyName,
      user_api_key_team_id: request.team,
      user_api_key_team_alias: request.team,
      user_api_key_end_user_id: request.endUser,
    },
    additional_provider_specific_params: params,
  }),
  verdict: (answer, { texts, surroundings }) => {
    const { action, blocked_reason: reason, texts: replaced, images } = readAnswer(Answer, answer);
    if (action === 'BLOCKED') return { kind: 'blocked', reason: reason ?? null };
    if (action === 'NONE') return PASSED;
    if (images != null && !isSame(images, surroundings?.images ?? []))
      throw new HookFailure('it replaces images, which cannot be done');
    if (replaced == null) throw new HookFailure('it intervenes without texts');
    if (replaced.length !== texts.length)
      throw new HookFailure(`it returns ${replaced.length} texts for ${texts.length}`);
    return replaced.every((text, index) => text === texts[index])
      ? PASSED
      : { kind: 'replaced', texts: replaced };
  },
};

/** A server may send back what it was sent. */
const isSame = (images: readonly unknown[], sent: readonly string[]): boolean =>
  images.length === 0 || (images.length === sent.length && images.every((image, at) => image === sent[at]));
