/** The request whose texts are checked, as hooks are told of it. */
export interface CheckedRequest {
  readonly requestId: string;
  readonly keyId: string;
  readonly keyName: string;
  readonly team: string | null;
  /** Whom it was sent for; null: not known. */
  readonly endUser: string | null;
  /** The caller's name for it; null: what will read the texts is not known yet. */
  readonly model: string | null;
  /** Fires when its caller leaves. */
  readonly signal: AbortSignal;
}

export type Side = 'input' | 'output';

/** Whose words a text is. */
export type Role = 'system' | 'user' | 'assistant' | 'tool';

/** Texts of one request or of its answer, in their order. */
export interface Check {
  readonly side: Side;
  readonly texts: readonly string[];
  /** One for each text. */
  readonly roles: readonly Role[];
  /** For hooks that are sent it; null: there is none. */
  readonly surroundings?: Surroundings | null;
}

/** What a request has beside its texts: images as URLs, also such with their data; tools and their calls as Chat Completions has them. */
export interface Surroundings {
  readonly images: readonly string[];
  /** Images that are named by the id of a file: there is nothing of them to send. */
  readonly namedImages: number;
  readonly tools: readonly unknown[];
  readonly toolCalls: readonly unknown[];
}

/** What a hook says of texts. Replacements are by position: one for each text. */
export type Verdict =
  | { readonly kind: 'passed' }
  | { readonly kind: 'blocked'; readonly reason: string | null }
  | { readonly kind: 'replaced'; readonly texts: readonly string[] };

export const PASSED: Verdict = { kind: 'passed' };

/** Why a hook has no verdict, in words for operators. */
export class HookFailure extends Error {
  override readonly name = 'HookFailure';
  /** Whether its server fails, and not this check alone. Whoever sends texts that it cannot answer for does not keep others from it. */
  readonly isOfServer: boolean;
  /** What its caller can do, who is told the message then. Null: it is not about what the caller sent. */
  readonly advice: string | null;

  constructor(
    message: string,
    {
      isOfServer = false,
      advice = null,
      ...options
    }: ErrorOptions & { isOfServer?: boolean; advice?: string | null } = {},
  ) {
    super(message, options);
    this.isOfServer = isOfServer;
    this.advice = advice;
  }
}
