import type { FormRefusal, FormRules } from '@gateway/forms/form-rules';

/** What the form of one transcription may hold. */
export function transcriptionForm(maxFileBytes: number): FormRules {
  const tooLarge: FormRefusal = {
    code: 'file_too_large',
    path: ['file'],
    message: `Maximum content size limit (${maxFileBytes}) exceeded. Send a smaller file, or split it.`,
  };
  return {
    parts: [
      {
        name: 'file',
        most: 1,
        maxBytes: maxFileBytes,
        tooMany: {
          code: 'invalid_value',
          path: ['file'],
          message: "The form has more than one file. Send exactly one, in the part 'file'.",
        },
        tooLarge,
      },
    ],
    fields: 64,
    fieldNameBytes: 200,
    // One known speaker's sample as a data URL fits in.
    fieldBytes: 1_500_000,
    fieldsTotalBytes: 4_000_000,
    tooLarge,
    whereFilesGo: "Send the audio in the part 'file'.",
  };
}
