// The arrows of docs/architecture.md: apps -> libs/orders -> libs/timeout, never back.

/** @param {string} name @param {string} comment @param {object} from @param {object} to */
const forbid = (name, comment, from, to) => ({ name, severity: 'error', comment, from, to });

/** Files that stand beside the code to test it may use what the code may not. */
const TESTS = '\\.(spec|long|engine)\\.ts$|\\.e2e\\.ts$|/testing/|\\.contract\\.ts$|-bench\\.ts$';

/** The rooms of libs/orders/src by floors: a room knows those on the floors before its own. */
const FLOORS = [
  ['settings', 'order'],
  ['stock', 'providers', 'events', 'invariants', 'sessions'],
  ['money', 'deliveries'],
  ['placing', 'closing'],
  ['payments', 'fulfilment', 'reconciling'],
  ['targets'],
  ['ops'],
  ['errands'],
  ['http'],
];
const ORDERS = '^libs/orders/src/';
const ROOMS = FLOORS.flat().join('|');
/** Beside the rooms: what every room may read, and what puts the rooms together. */
const FOR_ALL_ROOMS =
  '(config|data-source|duration|forget-in-batches|group-commit|group-commit-options|home)';

const ROOMS_OF_ORDERS = FLOORS.map((rooms, floor) => {
  const above = FLOORS.slice(floor + 1).flat();
  const name = `rooms-on-floor-${floor + 1}-of-orders`;
  const from = { path: `${ORDERS}(${rooms.join('|')})/`, pathNot: TESTS };
  const others = [...above.map((room) => `${room}/`), `(${rooms.join('|')})/`];
  return forbid(name, `${rooms.join(', ')}: see docs/architecture.md`, from, {
    path: `${ORDERS}(${[...others, '[^/]+\\.ts$'].join('|')})`,
    pathNot: `${ORDERS}($1/|${FOR_ALL_ROOMS}\\.ts$)`,
  });
});

/** The rooms of libs/timeout/src by floors, as above; the host's, and what puts all together, know them all. */
const TIMEOUT_FLOORS = [
  ['database', 'redis'],
  ['deadlines', 'brake'],
  ['alarms'],
  ['draining'],
  ['sweeping', 'shards'],
];
const TIMEOUT = '^libs/timeout/src/';
const TIMEOUT_ROOMS = TIMEOUT_FLOORS.flat().join('|');
/** Beside the rooms: ports, errors, time and texts, which know no room. */
const FOR_ALL_TIMEOUT_ROOMS =
  '(backoff|causes|clock|errors|every|failpoint|lock|pause|service-level|slots|stray-percent|telemetry|time-limit|timer-driver|timer-limits|uuids|warn)';

const ROOMS_OF_TIMEOUT = TIMEOUT_FLOORS.map((rooms, floor) => {
  const below = TIMEOUT_FLOORS.slice(0, floor).flat();
  const from = { path: `${TIMEOUT}(${rooms.join('|')})/`, pathNot: TESTS };
  const open = ['$1/', ...below.map((room) => `${room}/`), `${FOR_ALL_TIMEOUT_ROOMS}\\.ts$`];
  const name = `rooms-on-floor-${floor + 1}-of-timeout`;
  return forbid(name, `${rooms.join(', ')}: see docs/architecture.md`, from, {
    path: TIMEOUT,
    pathNot: `${TIMEOUT}(${open.join('|')})`,
  });
});

/** What drivers and locks may know of libs/timeout: their ports, and tools that know nothing. */
const TIMEOUT_PORTS =
  '(causes|clock|database/(lift-limits|own-types)|deadlines/low-water|failpoint|lock|pause|redis/(hash-tags|redis|redis-url)|slots|stray-percent|telemetry|time-limit|timer-driver|timer-driver-kind|uuids|with-defaults)\\.ts$';

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    forbid(
      'timeout-knows-no-orders',
      'libs/timeout could be published alone (its specs may use the set-up of the tests)',
      { path: '^libs/timeout/', pathNot: '\\.(spec|long|engine)\\.ts$|/testing/own-' },
      { path: '^(apps|libs/orders|bench|test|scripts)/' },
    ),
    forbid(
      'orders-know-no-apps',
      'a library does not know who uses it (its specs may use the set-up of the tests)',
      { path: '^libs/orders/', pathNot: '\\.(spec|long|contract)\\.ts$' },
      { path: '^(apps|bench|test|scripts)/' },
    ),
    forbid(
      'the-client-stands-alone',
      'it runs in browsers, and is installed without anything of ours',
      { path: '^libs/client/src/', pathNot: '\\.spec\\.ts$' },
      { pathNot: '^libs/client/src/' },
    ),
    forbid(
      'the-sandbox-stands-alone',
      'it stands for a provider, who knows nothing of ours but the interface',
      { path: '^apps/sandbox/' },
      { path: '^(apps|libs|scripts)/', pathNot: '^apps/sandbox/' },
    ),
    forbid(
      'apps-stand-alone',
      'what two apps share belongs into a library',
      { path: '^apps/([^/]+)/' },
      { path: '^apps/', pathNot: '^apps/$1/' },
    ),
    forbid(
      'libraries-by-their-barrel',
      'what a library offers is what its index.ts exports; apart from Nest, as that takes long to load and no browser has it',
      { path: '^(apps|bench|scripts|libs/([^/]+))/', pathNot: TESTS },
      {
        path: '^libs/[^/]+/src/',
        pathNot: '^libs/([^/]+/src/(index|public|http|look|module|providers/currencies)\\.ts$|$2/)',
      },
    ),
    forbid(
      'apps-import-nothing-for-tests',
      'test set-up does not ship',
      { path: '^(apps|libs)/', pathNot: TESTS },
      { path: '^(test|bench)/|\\.(spec|long)\\.ts$|/testing/' },
    ),
    ...ROOMS_OF_ORDERS,
    ...ROOMS_OF_TIMEOUT,
    forbid(
      'every-room-of-orders-has-its-floor',
      'a new room gets its place in FLOORS, and in docs/architecture.md',
      { path: `${ORDERS}[^/]+/`, pathNot: `${ORDERS}(${ROOMS}|migrations)/` },
      {},
    ),
    forbid(
      'every-room-of-timeout-has-its-floor',
      'a new room gets its place in TIMEOUT_FLOORS, and in docs/architecture.md',
      {
        path: `${TIMEOUT}[^/]+/`,
        pathNot: `${TIMEOUT}(${TIMEOUT_ROOMS}|drivers|host|locks|migrations|testing)/`,
      },
      {},
    ),
    forbid(
      'status-by-the-guard',
      'every change of an order status goes through order-guard.ts',
      { pathNot: `${ORDERS}order/order-guard\\.ts$|${TESTS}` },
      { path: `${ORDERS}order/change-status\\.ts$`, dependencyTypesNot: ['type-only'] },
    ),
    forbid(
      'deadline-handlers-are-found',
      'deadline-handlers.ts registers them by the names of their files',
      { pathNot: TESTS },
      { path: '\\.deadline\\.ts$' },
    ),
    forbid(
      'drivers-and-locks-know-ports',
      'an alarm clock or a lock knows neither deadlines nor who uses it',
      { path: `${TIMEOUT}(drivers|locks)/`, pathNot: TESTS },
      { path: TIMEOUT, pathNot: `${TIMEOUT}($1/|${TIMEOUT_PORTS})` },
    ),
    forbid(
      'drivers-know-no-other',
      'a timer driver is one folder',
      { path: '^libs/timeout/src/drivers/([^/]+)/', pathNot: TESTS },
      { path: '^libs/timeout/src/drivers/[^/]+/', pathNot: '^libs/timeout/src/drivers/$1/' },
    ),
    forbid(
      'drivers-are-found',
      'registry.ts registers them by the names of their files',
      { pathNot: TESTS },
      { path: '^libs/timeout/src/drivers/.*\\.timer\\.ts$' },
    ),
    forbid(
      'libraries-schedule-nothing',
      'ScheduleModule.forRoot() in a library makes the crons of a host fire twice (docs/adr/0022)',
      { path: '^libs/', pathNot: TESTS },
      { path: '@nestjs/schedule' },
    ),
    forbid(
      'timeout-names-no-driver',
      'which driver and which lock is for whoever sets it up: only the barrel offers them',
      {
        path: `${TIMEOUT}(([^/]+\\.ts$)|(${TIMEOUT_ROOMS})/)`,
        pathNot: `/(index|public|bullmq|postgres|redlock)\\.ts$|${TESTS}`,
      },
      { path: '^libs/timeout/src/(drivers|locks)/' },
    ),
    forbid(
      'commands-stand-alone',
      'what two commands share is a text or stands beside ops-command.ts',
      { path: '^apps/ops-cli/src/' },
      { path: '^apps/ops-cli/src/commands/' },
    ),
    forbid(
      'cli-texts-are-words',
      'texts say what they are given: they run nothing and know no installation',
      { path: '^apps/ops-cli/src/text/' },
      { path: '^apps/ops-cli/src/', pathNot: '^apps/ops-cli/src/(text/|exit-code\\.ts$)' },
    ),
    forbid(
      'bullmq-in-its-driver',
      'a timer driver is one folder',
      { path: '^(apps|libs)/', pathNot: `^libs/timeout/src/drivers/bullmq/|${TESTS}` },
      { path: 'node_modules/(bullmq|@nestjs/bullmq)/' },
    ),
    forbid(
      'amqplib-in-its-driver',
      'a timer driver is one folder',
      { path: '^(apps|libs)/', pathNot: `^libs/timeout/src/drivers/rabbitmq/|${TESTS}` },
      { path: 'node_modules/amqplib/' },
    ),
    forbid(
      'rocketmq-in-its-driver',
      'a timer driver is one folder',
      { path: '^(apps|libs)/', pathNot: `^libs/timeout/src/drivers/rocketmq/|${TESTS}` },
      { path: 'node_modules/(rocketmq-client-nodejs|@grpc/grpc-js|google-protobuf)/' },
    ),
    forbid(
      'nats-in-its-driver',
      'a timer driver is one folder',
      { path: '^(apps|libs)/', pathNot: `^libs/timeout/src/drivers/nats/|${TESTS}` },
      { path: 'node_modules/@nats-io/' },
    ),
    forbid(
      'redlock-in-one-file',
      'the lock is behind a port',
      { path: '^(apps|libs)/', pathNot: `^libs/timeout/src/locks/redlock-holds\\.ts$|${TESTS}` },
      { path: 'node_modules/(redlock|@sesamecare-oss/redlock)/' },
    ),
    forbid(
      'stripe-in-its-provider',
      'a payment provider is behind a port',
      { path: '^(apps|libs)/', pathNot: `stripe[^/]*\\.ts$|/stripe/|${TESTS}` },
      { path: 'node_modules/stripe/' },
    ),
    forbid('no-cycles', 'a cycle has no first part to understand', {}, { circular: true }),
    forbid(
      'no-orphans',
      'code that nothing reaches is not code',
      {
        orphan: true,
        path: '^(apps|libs)/',
        pathNot: `${TESTS}|\\.d\\.m?ts$|/main\\.ts$|/commands/|/migrations/`,
      },
      {},
    ),
    forbid('resolvable', 'an import that leads nowhere', {}, { couldNotResolve: true }),
    forbid(
      'no-dev-packages-in-production',
      'what ships finds its packages in dependencies; pages are bundled with theirs',
      { path: '^(apps|libs)/', pathNot: `^apps/web/|${TESTS}` },
      { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['type-only'] },
    ),
  ],
  options: {
    tsConfig: { fileName: 'tsconfig.json' },
    // A cycle of types is a cycle as well.
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^(dist|libs/client/dist|examples|test/packages/(shop|snippets/))' },
    moduleSystems: ['cjs', 'es6'],
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default', 'types'],
      extensions: ['.ts', '.tsx', '.mts', '.mjs', '.cjs', '.js', '.json'],
      mainFields: ['main', 'types'],
    },
  },
};
