import { IMAGE_FORM_BOOLEANS, IMAGE_FORM_NUMBERS } from '@gateway/contracts/openai/images';

const NUMBERS: ReadonlySet<string> = new Set(IMAGE_FORM_NUMBERS);
const BOOLEANS: ReadonlySet<string> = new Set(IMAGE_FORM_BOOLEANS);
const NUMBER = /^[+-]?\d+(?:\.\d+)?$/;

/** Text parts as members. What is no number stays a text, which validation refuses. The last of a name counts. */
export function formValues(
  fields: readonly (readonly [name: string, value: string])[],
): Record<string, unknown> {
  return Object.fromEntries(fields.map(([name, value]) => [name, valueOfPart(name, value)]));
}

function valueOfPart(name: string, text: string): unknown {
  if (NUMBERS.has(name) && NUMBER.test(text)) return Number(text);
  if (BOOLEANS.has(name) && (text === 'true' || text === 'false')) return text === 'true';
  return text;
}
