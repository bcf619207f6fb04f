/** What one member of a request must be. Both protocols' checks read the same rules and word the refusal their way. */
export type Rule = { readonly required?: true } & (
  | { readonly kind: 'decimal' | 'integer'; readonly min?: number; readonly max?: number }
  | { readonly kind: 'string'; readonly min?: number; readonly max?: number }
  | { readonly kind: 'array'; readonly min?: number; readonly max?: number }
  | { readonly kind: 'one-of'; readonly values: readonly string[] }
  | { readonly kind: 'boolean' | 'object' | 'any' }
);

export type Rules = Readonly<Record<string, Rule>>;
