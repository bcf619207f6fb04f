/** Bounds of one edit request. */
export const FORM_LIMITS = {
  /** The images and the mask. */
  files: 17,
  imageBytes: 50 * 1024 * 1024,
  maskBytes: 4 * 1024 * 1024,
  fields: 64,
  fieldNameBytes: 200,
  /** The longest prompt, in the longest characters. */
  fieldBytes: 256 * 1024,
  /** All text parts together. */
  fieldsTotalBytes: 1024 * 1024,
} as const;
