import { Group, Select } from '@mantine/core';
import { IconWebhook } from '@tabler/icons-react';
import { useInfiniteQuery } from '@tanstack/react-query';
import * as z from 'zod/mini';
import type { Webhook } from '../../api/types.ts';
import { Moment } from '../../parts/moment.tsx';
import { ListPage } from '../../parts/page/list-page.tsx';
import { usePageSearch } from '../../parts/page/page-search.ts';
import { Line, NameAndId, TwoLines } from '../../parts/table/cell-text.tsx';
import type { Column } from '../../parts/table/virtual-table.tsx';
import { KeySelect } from '../traffic/key-select.tsx';
import { ValueLink } from '../traffic/value-link.tsx';
import { WebhookDetails } from './webhook-details.tsx';
import { outcomeOf, WEBHOOK_STATUSES, WebhookStatusBadge } from './webhook-status.tsx';
import { webhooksQuery } from './webhooks-query.ts';

const Search = z.object({
  status: z.catch(z.optional(z.enum(WEBHOOK_STATUSES)), undefined),
  keyId: z.catch(z.optional(z.string()), undefined),
  /** The webhook that is open. */
  webhook: z.catch(z.optional(z.string()), undefined),
});

/** What was sent when jobs ended, how that went, and sending it again. */
export default function WebhooksPage() {
  const { search, change, open, close } = usePageSearch(Search);
  const { status, keyId } = search;
  const webhooks = useInfiniteQuery(webhooksQuery({ status, keyId }));
  const rows = (webhooks.data?.pages ?? []).flatMap(({ data }) => data);
  const isFiltered = status !== undefined || keyId !== undefined;

  return (
    <ListPage
      title="Webhooks"
      about="What was sent when jobs ended, and how the receivers answered. Listed for one week."
      filters={
        <Group mb="md" gap="sm" wrap="wrap">
          <Select
            flex="1 1 180px"
            aria-label="Status"
            placeholder="Any status"
            data={WEBHOOK_STATUSES}
            clearable
            value={status ?? null}
            onChange={(chosen) => change({ status: WEBHOOK_STATUSES.find((one) => one === chosen) })}
          />
          <KeySelect
            flex="1 1 220px"
            aria-label="Key"
            placeholder="All keys"
            clearable
            chosenId={keyId}
            onChoose={(chosen) => change({ keyId: chosen })}
          />
        </Group>
      }
      list={webhooks}
      empty={{
        icon: IconWebhook,
        title: isFiltered ? 'No matching webhooks' : 'No webhooks in the last week',
        children: isFiltered
          ? 'Remove a filter to see others.'
          : 'The end of a job is sent to the receiver of its key, or to the one that its request names.',
      }}
      columns={COLUMNS}
      rows={rows}
      idOf={({ id }) => id}
      onOpen={({ id }) => open({ webhook: id })}
    >
      {search.webhook !== undefined && (
        <WebhookDetails id={search.webhook} onClose={() => close('webhook')} />
      )}
    </ListPage>
  );
}

const COLUMNS: readonly Column<Webhook>[] = [
  {
    id: 'receiver',
    header: 'Receiver',
    width: 'minmax(0, 1.8fr)',
    onNarrow: true,
    cell: ({ url, id }) => <NameAndId name={url ?? 'not sent yet'} id={id} />,
  },
  {
    id: 'status',
    header: 'Status',
    width: '128px',
    onNarrow: true,
    cell: (webhook) => <WebhookStatusBadge of={webhook} />,
  },
  {
    id: 'key',
    header: 'Key',
    width: 'minmax(0, 1fr)',
    cell: ({ keyId }) => (
      <Line>
        <ValueLink group="keyId" value={keyId} look="plain" />
      </Line>
    ),
  },
  {
    id: 'attempts',
    header: 'Last attempt',
    width: 'minmax(0, 1.4fr)',
    cell: ({ attempts }) => {
      const last = attempts.at(-1);
      return last === undefined ? (
        <Line>–</Line>
      ) : (
        <TwoLines
          first={outcomeOf(last)}
          second={attempts.length === 1 ? 'one attempt' : `${attempts.length} attempts`}
        />
      );
    },
  },
  {
    id: 'created',
    header: 'Job ended',
    width: '112px',
    cell: ({ createdAt }) => <Moment at={createdAt} />,
  },
];
