import * as z from 'zod/mini';

/** What the address of the sign-in page says. */
export const SignInSearch = z.object({
  /** The page to return to, within the console. */
  to: z.optional(z.string()),
  /** Why the identity provider's sign-in did not work. */
  problem: z.optional(z.string()),
});
