import {
  IMAGE_FORM_BOOLEANS,
  IMAGE_FORM_NUMBERS,
  IMAGE_FORM_OBJECTS,
  MAX_INPUT_IMAGES,
} from '@gateway/contracts/openai/images';
import type { FilePart, FormRules } from '@gateway/forms/form-rules';

const MEBIBYTE = 1024 * 1024;
const IMAGE_MEBIBYTES = 50;
const MASK_MEBIBYTES = 4;
export const IMAGE_MAX_BYTES = IMAGE_MEBIBYTES * MEBIBYTE;
export const MASK_MAX_BYTES = MASK_MEBIBYTES * MEBIBYTE;

const tooLarge = (part: string, mebibytes: number): FilePart['tooLarge'] => ({
  code: 'file_too_large',
  path: [part],
  message: `The file in '${part}' is too large. It may have at most ${mebibytes} MB.`,
});

/** What the form of one edit may hold. */
export const EDIT_FORM: FormRules = {
  parts: [
    {
      name: 'image',
      // As clients really name them: `image`, `image[]`, `image[0]`.
      names: /^image(?:\[\d*\])?$/,
      most: MAX_INPUT_IMAGES,
      maxBytes: IMAGE_MAX_BYTES,
      tooMany: {
        code: 'array_above_max_length',
        path: ['image'],
        message: `Invalid 'image': array too long. Expected an array with maximum length ${MAX_INPUT_IMAGES}, but got more.`,
      },
      tooLarge: tooLarge('image', IMAGE_MEBIBYTES),
    },
    {
      name: 'mask',
      names: /^mask(?:\[\d*\])?$/,
      most: 1,
      maxBytes: MASK_MAX_BYTES,
      tooMany: {
        code: 'invalid_value',
        path: ['mask'],
        message: "Send at most one file in the part 'mask'.",
      },
      tooLarge: tooLarge('mask', MASK_MEBIBYTES),
    },
    {
      name: 'markup',
      names: /^markup(?:\[\d*\])?$/,
      most: 1,
      maxBytes: IMAGE_MAX_BYTES,
      tooMany: {
        code: 'invalid_value',
        path: ['markup'],
        message: "Send at most one file in the part 'markup'.",
      },
      tooLarge: tooLarge('markup', IMAGE_MEBIBYTES),
    },
  ],
  fields: 64,
  fieldNameBytes: 200,
  // The longest prompt, in the longest characters.
  fieldBytes: 256 * 1024,
  fieldsTotalBytes: MEBIBYTE,
  tooLarge: { code: 'request_too_large', message: 'The form is larger than its parts may be in total.' },
  whereFilesGo: "Send images in the part 'image' or 'image[]', a mask in 'mask', and a markup in 'markup'.",
  alsoTakes: 'application/json',
};

const NUMBERS: ReadonlySet<string> = new Set(IMAGE_FORM_NUMBERS);
const BOOLEANS: ReadonlySet<string> = new Set(IMAGE_FORM_BOOLEANS);
const OBJECTS: ReadonlySet<string> = new Set(IMAGE_FORM_OBJECTS);
const NUMBER = /^[+-]?\d+(?:\.\d+)?$/;

/** The name of a part that is a member of a member. */
const NESTED = /^(\w+)((?:\[\w+\])+)$/;
const BRACKETS = /\[(\w+)\]/g;

/** Text parts as members. A text that is not a number stays a text, which validation refuses. Of equal names the last counts. */
export function formValues(
  fields: readonly (readonly [name: string, value: string])[],
): Record<string, unknown> {
  let values: Record<string, unknown> = {};
  for (const [name, text] of fields) {
    const [, member = '', brackets = ''] = NESTED.exec(name) ?? [];
    if (OBJECTS.has(member)) {
      const path = [...brackets.matchAll(BRACKETS)].map(([, inner = '']) => inner);
      values = withMember(values, [member, ...path], text);
    } else values = withMember(values, [name], valueOfPart(name, text));
  }
  return values;
}

/** The same object with a value at a path. */
function withMember(
  object: Record<string, unknown>,
  [name = '', ...inner]: readonly string[],
  value: unknown,
): Record<string, unknown> {
  if (inner.length === 0) return { ...object, [name]: value };
  const within = Object.hasOwn(object, name) ? object[name] : {};
  return { ...object, [name]: withMember(isMembers(within) ? within : {}, inner, value) };
}

const isMembers = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A member of JSON as the parts that it would be in a form; none for null. */
export function formFields(name: string, member: unknown): (readonly [name: string, value: string])[] {
  if (member === null || member === undefined) return [];
  const isObject = OBJECTS.has(/^\w+/.exec(name)?.[0] ?? '') && isMembers(member);
  if (isObject)
    return Object.entries(member).flatMap(([inner, value]) => formFields(`${name}[${inner}]`, value));
  return [[name, typeof member === 'string' ? member : JSON.stringify(member)]];
}

function valueOfPart(name: string, text: string): unknown {
  if (NUMBERS.has(name) && NUMBER.test(text)) return Number(text);
  if (BOOLEANS.has(name) && (text === 'true' || text === 'false')) return text === 'true';
  return text;
}
