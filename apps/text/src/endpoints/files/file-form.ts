import { FileRequest } from '@gateway/contracts/openai/files';
import type { FormRules } from '@gateway/forms/form-rules';
import type { FormField } from '@gateway/forms/read-form';
import { validate } from '@gateway/service-kit/request/validate';

const MEBIBYTE = 1024 * 1024;

/** The form of an upload, whose file has so many bytes at most. */
export const fileForm = (maxBytes: number): FormRules => ({
  parts: [
    {
      name: 'file',
      most: 1,
      maxBytes,
      tooMany: {
        code: 'array_above_max_length',
        path: ['file'],
        message: 'Send one file in each request.',
      },
      tooLarge: {
        code: 'file_too_large',
        path: ['file'],
        message: `The file is larger than the ${maxBytes} bytes that are accepted here. Send several files.`,
      },
    },
  ],
  fields: 16,
  fieldNameBytes: 100,
  fieldBytes: 1024,
  fieldsTotalBytes: MEBIBYTE,
  tooLarge: {
    code: 'request_too_large',
    message: `The form is larger than what is accepted here: a file of ${maxBytes} bytes and a few texts.`,
  },
  whereFilesGo: "Send the file as 'file'.",
});

const EXPIRY = /^expires_after\[(\w+)\]$/;

/** The texts of the form. Clients write a member of a member in brackets. */
export function fileRequest(fields: readonly FormField[]): FileRequest {
  const expiry: Record<string, unknown> = {};
  const members: Record<string, unknown> = {};
  for (const [name, value] of fields) {
    const [, member] = EXPIRY.exec(name) ?? [];
    if (member === undefined) members[name] = value;
    else expiry[member] = member === 'seconds' ? numberIn(value) : value;
  }
  const isLimited = Object.keys(expiry).length > 0;
  return validate(FileRequest, { ...members, ...(isLimited && { expires_after: expiry }) });
}

const numberIn = (text: string): unknown => (/^-?\d{1,15}$/.test(text) ? Number(text) : text);
