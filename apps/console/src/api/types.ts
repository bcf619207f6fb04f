import type { paths } from './admin-api.gen.ts';

/** The body of a successful answer. */
type Answer<Operation> = Operation extends { responses: infer Responses }
  ? Responses extends Record<200, { content: { 'application/json': infer Body } }>
    ? Body
    : never
  : never;
type Item<Page> = Page extends { data: readonly (infer Row)[] } ? Row : never;

type Body<Operation> = Operation extends {
  requestBody: { content: { 'application/json': infer Sent } };
}
  ? Sent
  : never;

export type Key = Answer<paths['/admin/v1/keys/{id}']['get']>;
/** With what it was used for. */
export type ListedKey = Item<Answer<paths['/admin/v1/keys']['get']>>;
export type Found = Item<Answer<paths['/admin/v1/search']['get']>>;
export type Team = Item<Answer<paths['/admin/v1/teams']['get']>>;
export type Balance = Answer<paths['/admin/v1/keys/{id}/balance']['get']>;
export type Channel = Item<Answer<paths['/admin/v1/channels']['get']>>;
export type Model = Item<Answer<paths['/admin/v1/models']['get']>>;
export type Alerts = Answer<paths['/admin/v1/alerts']['get']>;
export type Finding = Item<Answer<paths['/admin/v1/attention']['get']>>;
export type UsageRow = Item<Answer<paths['/admin/v1/usage']['get']>>;
export type ShownRequest = Item<Answer<paths['/admin/v1/requests']['get']>>;
export type Conversation = Answer<paths['/admin/v1/requests/{id}/conversation']['get']>;
export type RequestContent = Answer<paths['/admin/v1/requests/{id}/content']['get']>;
export type OwnSession = Answer<paths['/admin/v1/session']['get']>;
export type Session = Item<Answer<paths['/admin/v1/sessions']['get']>>;

export type Person = Answer<paths['/admin/v1/people/{id}']['get']>;
export type PersonLink = Answer<paths['/admin/v1/people/{id}/link']['post']>;
export type NewPersonBody = Body<paths['/admin/v1/people']['post']>;
export type Roles = Answer<paths['/admin/v1/roles']['get']>;

export type NewKeyBody = Body<paths['/admin/v1/keys']['post']>;
export type Rest = Channel['rests'][number];
export type NewTeamBody = Body<paths['/admin/v1/teams']['post']>;
export type AuditEntry = Item<Answer<paths['/admin/v1/audit']['get']>>;
export type Configuration = Answer<paths['/admin/v1/configuration']['get']>;
export type CheckedConfiguration = Answer<paths['/admin/v1/configuration/check']['post']>;
export type Mistake = CheckedConfiguration['mistakes'][number];
export type QueueState = Item<Answer<paths['/admin/v1/queues']['get']>>;
export type Job = Item<Answer<paths['/admin/v1/jobs']['get']>>;
export type JobDetail = Answer<paths['/admin/v1/jobs/{id}']['get']>;
export type Webhook = Item<Answer<paths['/admin/v1/webhooks']['get']>>;
export type ChannelTest = Answer<paths['/admin/v1/channels/{name}/test']['post']>;
export type Draft = Answer<paths['/admin/v1/configuration/draft']['post']>;
export type DraftCosts = Answer<paths['/admin/v1/configuration/draft/costs']['post']>;
export type DraftTry = Answer<paths['/admin/v1/configuration/draft/try']['post']>;
export type ConfigurationEdit = NonNullable<
  Body<paths['/admin/v1/configuration/draft']['post']>['edits']
>[number];
export type Revision = Item<Answer<paths['/admin/v1/configuration/revisions']['get']>>;
export type Provider = Item<Answer<paths['/admin/v1/configuration/providers']['get']>>;
export type ProviderTrialBody = Body<paths['/admin/v1/configuration/providers/try']['post']>;
export type TriedProvider = Answer<paths['/admin/v1/configuration/providers/try']['post']>;
export type FoundServer = Item<Answer<paths['/admin/v1/configuration/model-servers']['get']>>;
