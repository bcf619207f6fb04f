import { KeySettings, TeamSettings } from '@gateway/metering/keys/settings';
import { z } from 'zod';
import { PersonRole, RoleTeams } from '../../people/person.ts';
import { Role } from '../../sessions/roles.ts';
import { SignInMethod } from '../../sessions/session-store.ts';
import { instant, page, warnings } from './page.ts';

const { limits, budget } = TeamSettings.shape;
const shownLimits = limits.unwrap();
const shownBudget = budget.unwrap().required().nullable();
const keys = KeySettings.shape;

const shownKey = {
  id: z.string(),
  name: z.string(),
  team: z.string().nullable(),
  owner: z.string().nullable(),
  models: keys.models.unwrap().nullable(),
  endpoints: keys.endpoints.unwrap().nullable(),
  limits: keys.limits.unwrap(),
  budget: shownBudget,
  expiresAt: instant.nullable(),
  disabled: z.boolean(),
  priority: keys.priority.unwrap(),
  labels: z.record(z.string(), z.string()),
  webhookUrl: z.string().nullable(),
  createdAt: instant,
  revokedAt: instant.nullable(),
  /** Until when the secret before the last rotation still works. */
  oldSecretUntil: instant.nullable(),
  /** When the secret was made by which its webhooks are signed. */
  webhookSecretMadeAt: instant.nullable(),
  /** Until when they are signed with the one before as well. */
  oldWebhookSecretUntil: instant.nullable(),
};

export const KeyReply = z.strictObject(shownKey);
export const ChangedKeyReply = z.strictObject({ ...shownKey, warnings });
/** `key` is the secret, shown this once. */
export const NewKeyReply = z.strictObject({ ...shownKey, key: z.string(), warnings });
export const RotatedKeyReply = z.strictObject({ ...shownKey, key: z.string() });
/** `webhookSecret` is shown this once. */
export const WebhookSecretReply = z.strictObject({ ...shownKey, webhookSecret: z.string() });
/** A key as lists show it. */
export const ListedKey = KeyReply.extend({
  /** When a request with it ended last; null: never, as far as is known. */
  lastUsedAt: instant.nullable(),
  /** Of the last 30 days (UTC), this one included. */
  last30Days: z.strictObject({ requests: z.number(), costMicroUsd: z.number() }),
});
export const KeyPage = page(ListedKey);

export const TeamReply = z.strictObject({
  name: z.string(),
  limits: shownLimits,
  budget: shownBudget,
  createdAt: instant,
});
export const TeamPage = page(TeamReply);

/** What is left of limits and of the budget at this moment. */
export const BalanceReply = z.strictObject({
  limits: z.array(
    z.strictObject({
      limit: z.string(),
      /** The pattern of the models that it applies to; null: all. */
      model: z.string().nullable(),
      value: z.number(),
      remaining: z.number(),
    }),
  ),
  budget: z
    .strictObject({
      period: z.string(),
      usd: z.number(),
      spentUsd: z.number(),
      /** For requests in flight. */
      reservedUsd: z.number(),
      remainingUsd: z.number(),
      resetsAt: instant.nullable(),
    })
    .nullable(),
});

export const KeyBalanceList = page(BalanceReply.extend({ id: z.string() }));

/** A person's sign-in to the console. */
export const SessionReply = z.strictObject({
  id: z.string(),
  /** What the person said, or what the identity provider says of the person. */
  name: z.string(),
  /** How the person signed in. */
  method: SignInMethod,
  role: Role,
  /** The person that signed in with a password; null: with something else. */
  personId: z.string().nullable(),
  /** A team lead's or member's; null: the role has no teams. */
  teams: z.array(z.string()).nullable(),
  /** A key holder's; null: the role has no key. */
  keyId: z.string().nullable(),
  createdAt: instant,
  /** It ends then, or earlier if it is not used. */
  expiresAt: instant,
  lastUsedAt: instant,
  address: z.string().nullable(),
  userAgent: z.string().nullable(),
});
/** `permissions` are the calls that the person may make, such as `GET /admin/v1/keys`. */
export const OwnSessionReply = SessionReply.extend({ permissions: z.array(z.string()) });
/** Beside the admin token and a key, which are always there. */
export const SignInReply = z.strictObject({
  /** The identity provider, as the button names it; null: none is set. */
  oidc: z.strictObject({ name: z.string() }).nullable(),
  /** Whether there are people who have or get a password. */
  password: z.boolean(),
});
export const SessionList = page(SessionReply);

export const PersonStates = z.enum(['invited', 'active', 'disabled']);
/** A person who signs in with a password. */
export const PersonReply = z.strictObject({
  id: z.string(),
  email: z.string(),
  name: z.string(),
  role: z.string(),
  teams: z.array(z.string()),
  state: PersonStates,
  createdAt: instant,
  lastSignInAt: instant.nullable(),
  /** Until when the link to set a password works; null: there is none. */
  linkExpiresAt: instant.nullable(),
  /** Whether the one who asks may change the person. */
  mayChange: z.boolean(),
});
export const PersonPage = page(PersonReply);
/** `link` is shown this once. It is a URL, or begins with a path where `CONSOLE_URL` is not set. */
export const PersonLinkReply = PersonReply.extend({
  link: z.string(),
  /** What came of sending it by e-mail; null: that was not asked for. */
  delivery: z
    .strictObject({
      isSent: z.boolean(),
      /** Why it was not sent, and what to do; null: it was. */
      message: z.string().nullable(),
    })
    .nullable(),
});
export const PasswordLinkReply = z.strictObject({
  email: z.string(),
  name: z.string(),
  /** Whether it is the person's first password. */
  isInvitation: z.boolean(),
});

export const GroupRule = z.strictObject({ group: z.string(), role: PersonRole, teams: RoleTeams });
export const GroupRuleList = page(
  z.strictObject({ group: z.string(), role: z.string(), teams: RoleTeams }),
).extend({
  /** The rules of the settings `OIDC_…`; null: no identity provider is set. */
  environment: z
    .strictObject({
      roleClaim: z.string(),
      adminValues: z.array(z.string()),
      viewerValues: z.array(z.string()),
      teamClaim: z.string().nullable(),
      teamPrefix: z.string().nullable(),
    })
    .nullable(),
});
export const GroupPreviewReply = z.strictObject({
  /** Null: such a person cannot sign in. */
  role: PersonRole.nullable(),
  teams: z.array(z.string()),
  /** The groups that give the role, and whose rules they are. */
  because: z.array(z.string()),
});

/** Who may make which call. */
export const RolesReply = z.strictObject({
  roles: z.array(z.strictObject({ name: Role, about: z.string(), sees: z.string() })),
  calls: z.array(
    z.strictObject({
      method: z.string(),
      path: z.string(),
      summary: z.string(),
      /** Empty: anybody, without signing in. */
      roles: z.array(Role),
    }),
  ),
});
