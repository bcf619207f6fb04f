import { IMAGE_FORM_BOOLEANS, IMAGE_FORM_NUMBERS, MAX_INPUT_IMAGES } from '@gateway/contracts/openai/images';
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
const NUMBER = /^[+-]?\d+(?:\.\d+)?$/;

/** Text parts as members. A text that is not a number stays a text, which validation refuses. Of equal names the last counts. */
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
