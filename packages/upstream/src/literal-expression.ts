/** A text as the source of a regular expression that matches exactly this text. */
export const literalExpression = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
