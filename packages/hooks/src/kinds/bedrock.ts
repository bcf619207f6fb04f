import { isObject } from '@gateway/contracts/json/json-object';
import { z } from 'zod';
import { HookFailure, PASSED } from '../check.ts';
import type { HookAdapter } from './kinds.ts';
import { readAnswer } from './read-answer.ts';

const Answer = z.object({
  action: z.enum(['NONE', 'GUARDRAIL_INTERVENED']),
  outputs: z.array(z.object({ text: z.string().nullish() })).default([]),
  assessments: z.array(z.unknown()).default([]),
});

/**
 * `ApplyGuardrail` of Bedrock. It says in its assessments whether it has blocked or masked.
 *
 * @see https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ApplyGuardrail.html
 */
export const bedrock: HookAdapter = {
  request: ({ side, texts }) => ({
    source: side === 'input' ? 'INPUT' : 'OUTPUT',
    content: texts.map((text) => ({ text: { text } })),
  }),
  verdict: (answer, { texts }) => {
    const { action, outputs, assessments } = readAnswer(Answer, answer);
    if (action === 'NONE') return PASSED;
    const replaced = outputs.map(({ text }) => text ?? '');
    if (hasBlocked(assessments) || !hasMasked(assessments))
      return { kind: 'blocked', reason: replaced[0] || null };
    if (replaced.length !== texts.length)
      throw new HookFailure(`it returns ${replaced.length} outputs for ${texts.length} texts`);
    return { kind: 'replaced', texts: replaced };
  },
};

const hasBlocked = (value: unknown): boolean => hasAction(value, 'BLOCKED');
const hasMasked = (value: unknown): boolean => hasAction(value, 'ANONYMIZED');

/** Each policy has findings of its own form, and what was done in a member of this name. */
function hasAction(value: unknown, action: string): boolean {
  if (Array.isArray(value)) return value.some((one) => hasAction(one, action));
  return (
    isObject(value) &&
    (value.action === action || Object.values(value).some((member) => hasAction(member, action)))
  );
}
