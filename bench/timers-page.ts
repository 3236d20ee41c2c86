import type { Question } from './question';
import { asMarkdown, type Measured } from './report';

/** What stands above the figures: which driver to take, in words that no run changes. */
const CHOICE = `# Timers

Which to take:

- **You have only Postgres**: \`postgres\`. Nothing else to run, and it rings within milliseconds.
- **You have Redis**: \`bullmq\` (the default) where its board and its tools are wanted, \`redis-zset\` where they are not.
- **You have RabbitMQ and no Redis**: \`rabbitmq\`. It takes nothing back and lists nothing; the sweep covers both.
- **One process, or exact to 50 ms**: \`wheel\`, whose alarms survive a kill; \`memory\` where they need not.
- **10,000 orders a second**: any that is not \`redis-keyspace\`, with slots (\`TIMER_GRANULARITY=100ms\`): then there are
  ten alarms a second, and the database is the limit.
- **Never for the sake of it**: \`redis-list\` and \`redis-keyspace\` are here to be compared.

What each can do stands in [drivers.md](drivers.md).`;

export function timersPage(question: Question, kept: Readonly<Record<string, Measured>>): string {
  const measured = asMarkdown([question], kept)
    .split('\n\n')
    .slice(1)
    .join('\n\n')
    // A minute of even load holds its own repetitions.
    .replace(/Medians of \d+, the ways taking turns/, 'One run of each, one after the other');
  return `${CHOICE}\n\n${measured}`;
}
