/** The rule for one member of a request. Both protocols' checks use the same rules, with their own messages. */
export type Rule = { readonly required?: true } & (
  | { readonly kind: 'decimal' | 'integer'; readonly min?: number; readonly max?: number }
  | { readonly kind: 'string'; readonly min?: number; readonly max?: number }
  | { readonly kind: 'array'; readonly min?: number; readonly max?: number }
  | { readonly kind: 'one-of'; readonly values: readonly string[] }
  | { readonly kind: 'boolean' | 'object' | 'any' }
);

export type Rules = Readonly<Record<string, Rule>>;
