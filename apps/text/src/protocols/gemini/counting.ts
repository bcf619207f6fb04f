import type { Target } from '../../neutral/target.ts';
import { type JsonObject, numberAt } from '../../wire/json-object.ts';

/** Members of a request that a count takes. */
const COUNTED = ['contents', 'systemInstruction', 'tools', 'toolConfig', 'generationConfig'] as const;

/** The question how many tokens a request has: the Gemini API takes the whole request in a member of its own, Vertex AI does not. */
export function countBody(body: JsonObject, { model, quirks }: Pick<Target, 'model' | 'quirks'>): JsonObject {
  const counted = Object.fromEntries(
    COUNTED.flatMap((name) => (body[name] === undefined ? [] : [[name, body[name]]])),
  );
  if (quirks.wrappedCounts) return { generateContentRequest: { model: `models/${model}`, ...counted } };
  const { toolConfig: _, ...taken } = counted;
  return taken;
}

export const countIn = (reply: JsonObject): number | null => numberAt(reply, 'totalTokens');
