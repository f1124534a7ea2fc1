import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.apache.lucene.analysis.standard.StandardAnalyzer;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.DoublePoint;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.StringField;
import org.apache.lucene.index.Term;
import org.apache.lucene.monitor.Monitor;
import org.apache.lucene.monitor.MonitorQuery;
import org.apache.lucene.monitor.QueryMatch;
import org.apache.lucene.search.BooleanClause;
import org.apache.lucene.search.BooleanQuery;
import org.apache.lucene.search.PrefixQuery;
import org.apache.lucene.search.Query;
import org.apache.lucene.search.TermInSetQuery;
import org.apache.lucene.search.TermQuery;
import org.apache.lucene.search.WildcardQuery;
import org.apache.lucene.util.BytesRef;

/**
 * Lucene's Monitor over files: {@code LuceneMonitorPeer PATTERNS EVENTS}, see ../__init__.py for the formats. A pattern is
 * a JSON list of predicates [field, operator, value …], all of which must hold. Numbers are points, whole numbers and
 * texts are terms where they are compared for equality. Events are matched in batches of 100 documents.
 */
public final class LuceneMonitorPeer {
    private static final ObjectMapper JSON = new ObjectMapper();

    private static double processSeconds() {
        var system = (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        return system.getProcessCpuTime() * 1e-9;
    }

    private static double number(JsonNode value, double otherwise) {
        return value.isNull() ? otherwise : value.asDouble();
    }

    private static Query query(JsonNode predicates) {
        BooleanQuery.Builder all = new BooleanQuery.Builder();
        for (JsonNode one : predicates) {
            String field = one.get(0).asText();
            String value = one.get(2).isArray() ? "" : one.get(2).asText();
            Query part = switch (one.get(1).asText()) {
                case "=" -> new TermQuery(new Term(field, value));
                case "in" -> {
                    List<BytesRef> terms = new ArrayList<>();
                    one.get(2).forEach(term -> terms.add(new BytesRef(term.asText())));
                    yield new TermInSetQuery(field, terms);
                }
                case "prefix" -> new PrefixQuery(new Term(field, value));
                case "contains" -> new WildcardQuery(new Term(field, "*" + value.replace("\\", "\\\\") + "*"));
                case "suffix" -> new WildcardQuery(new Term(field, "*" + value.replace("\\", "\\\\")));
                case "between" -> DoublePoint.newRangeQuery(field + "#", number(one.get(2), Double.NEGATIVE_INFINITY),
                    number(one.get(3), Double.POSITIVE_INFINITY));
                default -> throw new IllegalArgumentException(one.toString());
            };
            all.add(part, BooleanClause.Occur.FILTER);
        }
        return all.build();
    }

    private static Document document(JsonNode event) {
        Document document = new Document();
        event.fields().forEachRemaining(field -> {
            document.add(new StringField(field.getKey(), field.getValue().asText(), Field.Store.NO));
            if (field.getValue().isNumber()) {
                document.add(new DoublePoint(field.getKey() + "#", field.getValue().asDouble()));
            }
        });
        return document;
    }

    private static long match(Monitor monitor, List<String> events) throws Exception {
        long matches = 0;
        for (int at = 0; at < events.size(); at += 100) {
            List<Document> batch = new ArrayList<>();
            for (String line : events.subList(at, Math.min(events.size(), at + 100))) {
                batch.add(document(JSON.readTree(line)));
            }
            var found = monitor.match(batch.toArray(Document[]::new), QueryMatch.SIMPLE_MATCHER);
            for (int each = 0; each < batch.size(); each++) {
                matches += found.getMatchCount(each);
            }
        }
        return matches;
    }

    public static void main(String[] arguments) throws Exception {
        List<String> patterns = Files.readAllLines(Path.of(arguments[0]));
        List<String> events = Files.readAllLines(Path.of(arguments[1]));
        double start = processSeconds();
        Monitor monitor = new Monitor(new StandardAnalyzer());
        List<MonitorQuery> queries = new ArrayList<>();
        for (String line : patterns) {
            JsonNode given = JSON.readTree(line);
            queries.add(new MonitorQuery(given.get("id").asText(), query(JSON.readTree(given.get("pattern").asText()))));
        }
        monitor.register(queries);
        double load = processSeconds() - start;

        long until = System.nanoTime() + 2_000_000_000L; // the just-in-time compiler sees the path before the clock starts
        do {
            match(monitor, events.subList(0, Math.min(events.size(), 100)));
        } while (System.nanoTime() < until);

        start = processSeconds();
        long matches = match(monitor, events);
        double cpu = processSeconds() - start;

        int edits = Math.min(queries.size(), 20);
        start = processSeconds();
        for (MonitorQuery one : queries.subList(0, edits)) {
            monitor.deleteById(one.getId());
            monitor.register(one);
        }
        double edit = (processSeconds() - start) / edits;
        ObjectNode report = JSON.createObjectNode();
        report.put("peer", "lucene-monitor").put("patterns", queries.size()).put("events", events.size());
        report.put("matches", matches).put("load_cpu_s", load).put("cpu_s", cpu).put("edit_cpu_s", edit);
        report.set("refused", JSON.createArrayNode());
        System.out.println(report);
        monitor.close();
    }
}
