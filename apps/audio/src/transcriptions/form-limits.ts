/** Bounds of one transcription request. */
export const FORM_LIMITS = {
  fields: 64,
  fieldNameBytes: 200,
  /** One known speaker's sample as a data URL fits in. */
  fieldBytes: 1_500_000,
  /** All text parts together. */
  fieldsTotalBytes: 4_000_000,
  /** What boundaries and part headers may add. */
  framingBytes: 65_536,
} as const;
