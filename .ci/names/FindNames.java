import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.StringReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.lucene.analysis.TokenStream;
import org.apache.lucene.analysis.icu.ICUFoldingFilter;
import org.apache.lucene.analysis.icu.segmentation.ICUTokenizer;
import org.apache.lucene.analysis.tokenattributes.CharTermAttribute;

/**
 * Answers the searches of shared/examples/find_names.rs with Lucene's ICU tokenizer and folding. As in the product, every
 * word of a query must begin a word of the name.
 */
class FindNames {
  public static void main(String[] arguments) throws IOException {
    List<List<String>> people = new ArrayList<>();
    BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    PrintStream output = new PrintStream(System.out, false, StandardCharsets.UTF_8);
    for (String line; (line = input.readLine()) != null; ) {
      String text = line.substring(line.indexOf('\t') + 1);
      switch (line.substring(0, line.indexOf('\t'))) {
        case "list" -> people.clear();
        case "name" -> people.add(words(text));
        case "query" -> {
          List<String> query = words(text);
          output.println(
              IntStream.range(0, people.size())
                  .filter(at -> !query.isEmpty() && matches(query, people.get(at)))
                  .mapToObj(Integer::toString)
                  .collect(Collectors.joining(" ")));
        }
        default -> throw new IOException("there is no such kind of line: " + line);
      }
    }
    output.flush();
  }

  private static boolean matches(List<String> query, List<String> person) {
    return query.stream().allMatch(word -> person.stream().anyMatch(other -> other.startsWith(word)));
  }

  private static List<String> words(String text) throws IOException {
    ICUTokenizer tokenizer = new ICUTokenizer();
    tokenizer.setReader(new StringReader(text));
    List<String> words = new ArrayList<>();
    try (TokenStream tokens = new ICUFoldingFilter(tokenizer)) {
      CharTermAttribute word = tokens.addAttribute(CharTermAttribute.class);
      tokens.reset();
      while (tokens.incrementToken()) {
        words.add(word.toString());
      }
      tokens.end();
    }
    return words;
  }
}
