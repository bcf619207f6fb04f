import { checkOpenAi } from '../checks/check-openai.ts';
import { readJson } from '../checks/read-json.ts';
import type { Rules } from '../checks/rule.ts';
import { asList, asObject, asText } from '../json-value.ts';
import { checkModelExists } from '../models/list-models.ts';
import { invalidRequest } from '../replies/provider-error.ts';
import { jsonReply } from '../replies/reply.ts';
import type { Handler } from '../requests/call.ts';
import { countTokens } from '../tokens.ts';
import { wordsOf } from './vector-of.ts';

const RULES: Rules = {
  model: { kind: 'string', min: 1 },
  input: { kind: 'any', required: true },
};

const USUAL_MODEL = 'omni-moderation-latest';

/** OpenAI's categories, each with a word that stands for it here, and whether images are looked at for it. */
const CATEGORIES = [
  ['harassment', 'harass', false],
  ['harassment/threatening', 'threaten', false],
  ['hate', 'hate', false],
  ['hate/threatening', 'exterminate', false],
  ['illicit', 'counterfeit', false],
  ['illicit/violent', 'bomb', false],
  ['self-harm', 'cutting', true],
  ['self-harm/intent', 'suicide', true],
  ['self-harm/instructions', 'overdose', true],
  ['sexual', 'porn', true],
  ['sexual/minors', 'grooming', false],
  ['violence', 'kill', true],
  ['violence/graphic', 'gore', true],
] as const;

/** One input to classify: all of its texts, and whether it has an image. */
interface Input {
  readonly text: string;
  readonly hasText: boolean;
  readonly hasImage: boolean;
}

const ofText = (text: string): Input => ({ text, hasText: true, hasImage: false });

function inputsOf(input: unknown): Input[] {
  if (typeof input === 'string') return [ofText(input)];
  const entries = asList(input);
  if (entries.length > 0 && entries.every((one) => typeof one === 'string')) return entries.map(ofText);
  const parts = entries.map(asObject);
  const images = parts.filter(({ type }) => type === 'image_url');
  const texts = parts.flatMap(({ type, text }) => (type === 'text' ? [asText(text)] : []));
  if (parts.length === 0 || texts.length + images.length < parts.length)
    throw invalidRequest("'$.input' is invalid. Please check the API reference.", null, 'input');
  if (images.length > 1) throw invalidRequest('Only one image is supported per request.', null, 'input');
  return [{ text: texts.join('\n'), hasText: texts.length > 0, hasImage: images.length > 0 }];
}

function classified({ text, hasText, hasImage }: Input) {
  const words = new Set(wordsOf(text));
  const rows = CATEGORIES.map(([name, word, seesImages]) => ({
    name,
    isFound: words.has(word),
    types: [...(hasText ? ['text'] : []), ...(hasImage && seesImages ? ['image'] : [])],
  }));
  const members = <T>(value: (row: (typeof rows)[number]) => T) =>
    Object.fromEntries(rows.map((row) => [row.name, value(row)]));
  return {
    flagged: rows.some(({ isFound }) => isFound),
    categories: members(({ isFound }) => isFound),
    category_scores: members(({ isFound }) => (isFound ? 0.97 : 0.0001)),
    category_applied_input_types: members(({ types }) => types),
  };
}

/** `POST /v1/moderations`: a text is flagged for the words that stand for the categories. It reports no usage, as OpenAI does not. */
export const createModeration: Handler = (call) => {
  const body = readJson(call);
  const model = asText(body.model) || USUAL_MODEL;
  const inputs = inputsOf(body.input);
  call.applyDirectives(inputs.map(({ text }) => text).join('\n'), model);
  checkOpenAi(body, RULES, call.provider.refusesUnknown);
  checkModelExists(model);
  return jsonReply(
    { id: call.provider.ids.next('modr-'), model, results: inputs.map(classified) },
    { model, inputTokens: inputs.reduce((sum, { text }) => sum + countTokens(text), 0) },
  );
};
