import { Alert, Badge, Group, Paper, Stack, Text, Title } from '@mantine/core';
import type { Model } from '../../api/types.ts';
import { CopyField } from '../../parts/copy-field.tsx';
import { wholeNumber } from '../../parts/numbers.ts';
import { Facts, Names } from '../facts.tsx';
import { ValueLink } from '../traffic/value-link.tsx';
import { priceLines } from './price-lines.ts';

const PRICE_FROM = {
  configuration: 'From the configuration, in US dollars.',
  catalogue: 'From the price catalogue, in US dollars. A price in gateway.yaml takes precedence.',
} as const;

/** One model: its routes in the order in which they are tried, and what it costs. */
export function ModelPanel({ of: model }: { of: Model }) {
  const routes = model.routes.toSorted((a, b) => a.priority - b.priority);
  return (
    <Stack>
      <CopyField label="Model name" value={model.name} />
      <Facts
        of={[
          ['Kind', model.kind],
          ['Configuration entry', model.pattern],
          ['Context window', tokens(model.contextWindow)],
          ['Max. output', tokens(model.maxOutputTokens)],
        ]}
      />
      {routes.length > 0 && (
        <Title order={2} size="h5">
          Routes
        </Title>
      )}
      {routes.map((route) => (
        <Paper key={`${route.channel} ${route.model}`} withBorder p="sm">
          <Group gap="xs" mb={6}>
            <Text fw={600} size="sm">
              <ValueLink group="channel" value={route.channel} />
            </Text>
            <Badge variant="default">priority {route.priority}</Badge>
            <Badge variant="default">weight {route.weight}</Badge>
          </Group>
          <Facts
            of={[
              ['Name at the channel', route.model ?? model.name],
              ['Protocols', <Names key="protocols" of={route.protocols} />],
              ...(route.priceFactor === 1
                ? []
                : ([['Price factor', `${route.priceFactor} × the model's price`]] as const)),
              ['Built-in tools', <BuiltInTools key="tools" of={route.builtInTools} />],
            ]}
          />
        </Paper>
      ))}
      <Title order={2} size="h5">
        Price
      </Title>
      {model.price === null || model.priceFrom === null ? (
        <Alert color="orange" variant="light">
          <Text size="sm" c="var(--mantine-color-text)">
            Its price is unknown. Keys with a budget cannot use it unless the budget allows models without a
            price. Set a price in gateway.yaml.
          </Text>
        </Alert>
      ) : (
        <>
          <Text size="xs" c="dimmed">
            {PRICE_FROM[model.priceFrom]}
          </Text>
          <Facts of={priceLines(model.price)} />
        </>
      )}
    </Stack>
  );
}

const BuiltInTools = ({ of }: { of: readonly string[] | null }) =>
  of?.length === 0 ? 'none' : <Names of={of} />;

const tokens = (count: number | null): string =>
  count === null ? 'unknown' : `${wholeNumber(count)} tokens`;
